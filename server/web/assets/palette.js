/** Command palette, opened by Ctrl+K or ⌘K, which lists matches while somebody types; shortcuts. */
const DELAY_MS = 150
const palette = document.getElementById('palette')
const input = palette.querySelector('input')
const results = palette.querySelector('output')
const match = (text) =>
  fetch(`/go?${new URLSearchParams({ q: text, list: '1' })}`)
    .then((response) => (response.ok ? response.text() : ''))
    .catch(() => '')
let latest = 0

addEventListener('keydown', (event) => {
  const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k'
  if (!isShortcut || event.altKey || event.shiftKey) return
  event.preventDefault()
  palette.togglePopover()
})

/** Keys without a modifier; people can switch them off (WCAG 2.1.4). */
const shortcuts = document.getElementById('shortcuts')
const isOn = document.getElementById('single-keys')
const OFF = 'single-keys-off'
const TURN_MS = 1_500
let lastG = -Infinity
isOn.checked = !(OFF in localStorage)
isOn.addEventListener('change', () => {
  if (isOn.checked) localStorage.removeItem(OFF)
  else localStorage.setItem(OFF, '1')
})
const opener = palette.querySelector('button[hidden]')
opener.hidden = false
opener.addEventListener('click', () => {
  palette.hidePopover()
  shortcuts.showPopover()
})

addEventListener('keydown', (event) => {
  const { key, target } = event
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey
  if (!isOn.checked || hasModifier || target.closest?.('input, select, textarea')) return
  const link = event.timeStamp - lastG < TURN_MS && shortcuts.querySelector(`[data-key="${CSS.escape(key)}"]`)
  lastG = key === 'g' ? event.timeStamp : -Infinity
  if (link) link.click()
  else if (key === '?') shortcuts.togglePopover()
  else if (key === '/') {
    event.preventDefault()
    const field = document.querySelector('main input[type=search]')
    if (field) field.focus()
    else palette.showPopover()
  }
})

async function showMatches() {
  const turn = ++latest
  await new Promise((resolve) => setTimeout(resolve, DELAY_MS))
  const text = input.value.trim()
  if (turn !== latest) return
  const page = text && new DOMParser().parseFromString(await match(text), 'text/html')
  if (turn !== latest) return
  const found = page ? [...page.querySelectorAll('.targets')] : []
  results.replaceChildren(...(text && found.length === 0 ? ['No matches.'] : found))
}
input.addEventListener('input', () => void showMatches())

palette.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (!step) return
  event.preventDefault()
  const stops = [input, ...results.querySelectorAll('a')]
  stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus()
})
