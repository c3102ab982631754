"""What the experiments share: the tasks and their features, the published figures, tables, files and pictures."""
