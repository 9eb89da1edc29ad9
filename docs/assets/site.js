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
addEventListener("load", focusable);
addEventListener("resize", focusable);
