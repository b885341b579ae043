"""Charts as SVG from the server: frozen data in, a string out. No JavaScript, no Django (that is in `views`)."""
