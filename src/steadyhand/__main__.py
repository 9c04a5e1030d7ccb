"""`python -m steadyhand` is the `steadyhand` command."""

from steadyhand.cli.main import main

main()
