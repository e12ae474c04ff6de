"""What an operator does in the console: press a button, fill in its dialog, confirm, read what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def act(page: Page, title: str, **fields: str) -> str:
    """Press a button of the console, fill in what its dialog asks for, confirm; returns what the console says then."""
    page.evaluate("document.getElementById('said').textContent = ''")
    page.get_by_role("button", name=title, exact=True).first.click()
    return confirm(page, **fields)


def confirm(page: Page, **fields: str) -> str:
    """Fill in and confirm the open dialog."""
    dialog = page.locator("dialog[open]")
    for name, value in fields.items():
        field = dialog.locator(f"[name='{name}']")
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        elif field.get_attribute("type") == "checkbox":
            field.check()
        else:
            field.fill(value)
    dialog.locator("#ask-do").click()
    page.wait_for_selector("#said:not(:empty), #ask-failure:not([hidden])")
    assert page.locator("#said").inner_text(), page.inner_text("#ask-failure")
    return page.inner_text("#said")


def start_heat(page: Page, name: str) -> None:
    """Give the start signal, and again where the page asks for it: a busy host may start the meters too far apart."""
    for _ in range(5):
        try:
            act(page, f"Start Heat {name}")
        except AssertionError as failure:
            if "give the start signal again" not in str(failure):
                raise
            page.locator("#ask-cancel").click()
        else:
            return
    raise AssertionError(f"Heat {name} was not started by five signals.")


def until_shown(page: Page, selector: str, text: str) -> None:
    page.locator(selector).filter(has_text=text).first.wait_for()
