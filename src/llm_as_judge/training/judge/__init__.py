"""Training a scoring judge: rows with labels in, an adapter with its thresholds out."""
