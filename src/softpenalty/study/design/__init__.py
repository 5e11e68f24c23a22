"""What is studied, as data: problems, configurations, experiments, and what the paper reports of them."""
