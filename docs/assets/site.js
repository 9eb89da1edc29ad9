// A table or a block of code that is wider than the screen can be scrolled by the keyboard too.
function focusable() {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (wrap.scrollWidth > wrap.clientWidth) {
      if (wrap.tabIndex !== 0) {
        wrap.tabIndex = 0;
      }
      wrap.setAttribute("role", "group");
      wrap.setAttribute("aria-label", "Table, wider than the screen");
    } else {
      wrap.removeAttribute("tabindex");
    }
  }
  for (const code of document.querySelectorAll("pre > code")) {
    if (code.scrollWidth > code.clientWidth && code.tabIndex !== 0) {
      code.tabIndex = 0;
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
  // Without a mouse the theme takes the focus away from code again.
  new MutationObserver(focusable).observe(document.body, {
    attributeFilter: ["tabindex"],
    subtree: true,
  });
});
addEventListener("resize", focusable);
