/** Command palette: Ctrl+K or ⌘K opens it; it lists matches while somebody types. */
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
