"""The paper's experiments: what is run (``specs/*.toml``), the runs, and the reports on them."""
