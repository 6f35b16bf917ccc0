"""The seam between Python and C: the only package that uses ffi and lib. It turns statuses into exceptions."""
