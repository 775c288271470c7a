import { showCopyButtons } from './copy.js'

/** Shows the progress of work: replaces its part of the page until the work is done. */
const DELAY_MS = 2_000
const busyPart = () => document.querySelector('[data-busy]')

async function refresh() {
  const response = await fetch(location.href)
  if (!response.ok) return
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  const part = busyPart()
  const next = page.getElementById(part.id)
  if (!next || part.contains(document.activeElement)) return
  part.replaceWith(next)
  showCopyButtons(next)
}

async function watch() {
  while (busyPart()) {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS))
    if (!document.hidden) await refresh().catch(() => undefined)
  }
}
void watch()
