// The explorer in its frame: in the site's colours, light or dark, and as high as it is.
(() => {
  const frame = document.querySelector("iframe.explorer");
  const follow = () => {
    const page = frame.contentDocument; // null where the site is opened from disk: then it follows the system
    if (!page || !page.body) return;
    page.documentElement.dataset.theme = document.documentElement.dataset.theme;
    frame.style.height = `${page.documentElement.scrollHeight + 4}px`;
  };
  frame.addEventListener("load", follow);
  addEventListener("resize", follow);
  new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  follow();
})();
