"""Leaves out tests that are for other frameworks than this process's."""

from support import NAME


def pytest_configure(config):
    config.addinivalue_line("markers", "only(names): the frameworks that the test is for")


def pytest_collection_modifyitems(config, items):
    others = [item for item in items if not is_for(item, NAME)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


def is_for(item, name):
    return all(name in mark.args[0] for mark in item.iter_markers("only"))
