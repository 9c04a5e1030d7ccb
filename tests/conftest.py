"""What all tests share: hypothesis without wall-clock deadlines, and the same examples every time."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
