// A table that is wider than the screen can be scrolled by the keyboard too.
function focusable() {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (wrap.scrollWidth > wrap.clientWidth) {
      wrap.tabIndex = 0;
      wrap.setAttribute("role", "group");
      wrap.setAttribute("aria-label", "Table, wider than the screen");
    } else {
      wrap.removeAttribute("tabindex");
    }
  }
}
// A copy button is no place to navigate to.
function plain() {
  for (const nav of document.querySelectorAll("nav.md-code__nav")) {
    nav.setAttribute("role", "none");
  }
}
addEventListener("load", () => {
  focusable();
  plain();
  new MutationObserver(plain).observe(document.body, { childList: true, subtree: true });
});
addEventListener("resize", focusable);
