/** Shows the file inputs, which copy the text of a file into a text area (`data-into`). */
async function readFile(input) {
  const [file] = input.files
  const isTooLarge = file?.size > Number(input.dataset.maxBytes)
  input.setCustomValidity(isTooLarge ? input.dataset.tooLarge : '')
  if (!file || !input.reportValidity()) return
  document.getElementById(input.dataset.into).value = await file.text()
}

for (const input of document.querySelectorAll('input[data-into]')) {
  input.addEventListener('change', () => void readFile(input))
  // The error is shown once. It must not block the form, which does not send the file.
  input.form.addEventListener('click', () => input.setCustomValidity(''))
  input.hidden = false
}
