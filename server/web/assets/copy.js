/** Buttons that copy a text; without scripts they are not seen. */
async function copyOf(button) {
  await navigator.clipboard.writeText(button.dataset.copy)
  button.textContent = 'Copied'
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.addEventListener('click', () => void copyOf(button))
  button.hidden = false
}
