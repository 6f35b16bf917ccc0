"""What exists because LiteRT does: its delegates and resolvers, its private names, standing in for its packages."""
