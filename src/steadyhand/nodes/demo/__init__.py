"""The demo: controller, follower, bad network and operator as real processes, led, watched and judged."""
