"""Everything that exists only for compatibility with LiteRT: delegates and resolvers, private names, replacing its
packages."""
