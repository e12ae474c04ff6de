"""What is wrong with a page at every width, light and dark: by axe, by its width, by targets too low for a finger.

A page is loaded once and its window resized. All rules of axe run at every width, in light; the rule of contrast, which
takes four fifths of their time, runs where some text has a look that it had at no width before: its colour, the
grounds behind it, or whether it counts as large.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from axe_playwright_python.base import AXE_SCRIPT

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (360, 768, 1440, 1920)
TOUCHED = (360, 768)
"""Widths of screens that are touched."""
HEIGHT = 900
SCHEMES = ("light", "dark")
OF_COLOUR = ["color-contrast", "link-in-text-block"]
"""Axe's rules that see another scheme."""
BROKEN = """([only, without]) => axe.run({
    resultTypes: ["violations"],
    preload: false,  // it would fetch each style sheet again, for no rule that runs
    rules: Object.fromEntries(without.map(rule => [rule, {enabled: false}])),
    ...(only.length ? {runOnly: {type: "rule", values: only}} : {}),
  }).then(found => found.violations.map(
    one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.target).join(" ; ")}`))"""
# True if some text that is shown has a look that this page did not have before.
HAS_NEW_LOOK = """() => {
  const seen = window.seenLooks ??= new Set(), before = seen.size;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const {color, fontSize, fontWeight} = getComputedStyle(element), px = parseFloat(fontSize);
    const look = [color, px >= 24 || px >= 18.66 && fontWeight >= 700];
    for (let ground = element; ground; ground = ground.parentElement) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(ground);
      look.push(backgroundColor, backgroundImage, opacity);
    }
    seen.add(look.join(" "));
  }
  return seen.size > before;
}"""
# Links within a sentence are as high as its line.
LOW = """() => [...document.querySelectorAll(
    "a, button, summary, select, [role=button], input, textarea, label:has(input)")]
  .filter(one => one.getClientRects().length && !one.matches(
    ".skip, p a, dd a, td a, li a, pre a, article a, [type=checkbox], [type=radio], [type=hidden]"))
  .filter(one => one.getBoundingClientRect().height < 44 - 0.5)
  .map(one => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 30)}`)"""


def faults(page: Page, *, is_touched: bool = True) -> Iterator[str]:
    """Say what is wrong with the page that is open; nobody touches a projector's."""
    page.evaluate(AXE_SCRIPT)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.wait_for_function("w => innerWidth === w", arg=width)
        for scheme in SCHEMES:
            for fault in _by_axe(page, scheme):
                yield f"at {width}, {scheme}: {fault}"
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            yield f"at {width}: it is {wide} wide"
        low = page.evaluate(LOW) if is_touched and width in TOUCHED else []
        if low:
            yield f"at {width}: lower than 44 px: {low}"


def _by_axe(page: Page, scheme: str) -> list[str]:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    has_new_look = page.evaluate(HAS_NEW_LOOK)
    found: list[str] = []
    if has_new_look:
        found += page.evaluate(BROKEN, [OF_COLOUR, []])
    if scheme == SCHEMES[0]:
        found += page.evaluate(BROKEN, [[], OF_COLOUR])
    return found
