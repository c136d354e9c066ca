// Pins the theme of the link before anything is painted. A plain script on purpose: modules run too late for that.
(() => {
  const theme = new URLSearchParams(location.search).get('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
})()
