"""What is known of a person across all apps: taken along, erased, and forgotten after a time."""
