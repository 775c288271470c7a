/** Shows the copy buttons. They copy `data-copy`, or the code block next to them. */
async function copyText(button) {
  const text = button.dataset.copy || button.parentElement.querySelector('code').textContent
  await navigator.clipboard.writeText(text)
  button.textContent = button.closest('.hash') ? '✓' : 'Copied'
  if (button.ariaLabel) button.ariaLabel = button.ariaLabel.replace(/^Copy\b/, 'Copied')
}

export function showCopyButtons(root) {
  if (!navigator.clipboard) return
  for (const button of root.querySelectorAll('button[data-copy]')) {
    button.addEventListener('click', () => void copyText(button))
    button.hidden = false
  }
}
showCopyButtons(document)
