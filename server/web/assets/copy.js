/** Buttons that copy a text: theirs, or what stands beside them. Without scripts they are not seen. */
async function copyOf(button) {
  const text = button.dataset.copy || button.parentElement.querySelector('code').textContent
  await navigator.clipboard.writeText(text)
  button.textContent = 'Copied'
  if (button.ariaLabel) button.ariaLabel = button.ariaLabel.replace(/^Copy\b/, 'Copied')
}

for (const button of navigator.clipboard ? document.querySelectorAll('button[data-copy]') : []) {
  button.addEventListener('click', () => void copyOf(button))
  button.hidden = false
}
