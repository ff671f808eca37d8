"""What the program costs: corpora, figures beside their floors, plots. Never imported by it."""
