"""The seam: the only package that touches ffi and lib. Statuses become exceptions, lifetimes are tied together here."""
