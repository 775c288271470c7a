/** Splits a text into lower-case words without accents, exactly as `hub.search_plain` does. */
export function tokenize(text: string): string[] {
  return withoutAccents(text)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/(?<=\p{L}{3})2(?=\p{L}{3})/gu, ' to ') // text2image
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** Reduces a name to its letters and digits for comparison, as `hub.search_squashed` does. */
export const squashName = (text: string): string =>
  withoutAccents(text)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')

const withoutAccents = (text: string): string =>
  text
    .toWellFormed()
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
