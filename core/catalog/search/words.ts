/** Letters without accents and digits, apart: as `hub.search_plain` writes what is indexed. */
export function plainWords(text: string): string[] {
  return withoutAccents(text)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/(?<=\p{L}{3})2(?=\p{L}{3})/gu, ' to ') // text2image
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** A name as it is compared: see `hub.search_squashed`. */
export const squashed = (text: string): string =>
  withoutAccents(text)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')

const withoutAccents = (text: string): string =>
  text
    .toWellFormed()
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
