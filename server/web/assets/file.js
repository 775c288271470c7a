/** Texts that may be read from a file, too. Without scripts they are pasted. */
async function read(input) {
  const [file] = input.files
  const isTooLarge = file?.size > Number(input.dataset.max)
  input.setCustomValidity(isTooLarge ? input.dataset.else : '')
  if (!file || !input.reportValidity()) return
  document.getElementById(input.dataset.into).value = await file.text()
}

for (const input of document.querySelectorAll('input[data-into]')) {
  input.addEventListener('change', () => void read(input))
  // It is told once, and not sent: the form may go without it.
  input.form.addEventListener('click', () => input.setCustomValidity(''))
  input.hidden = false
}
