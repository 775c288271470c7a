/** Texts for measuring speed: plain prose of any size, and thirty adversarial ones. */

const PROSE = [
  'Acme Corp. said on 12 May 2024 that sales rose 5% to $90.8 billion, above what was expected.',
  'The chairman, Thomas Keller, told reporters in Lisbon that the service was great but too slow.',
  'Nobody in the village had seen the river rise so quickly, and the bridge was closed by noon.',
  'In Warsaw the Ministry of Energy opened a tender for 120 MW of solar power near Gdansk.',
  'However, the battery does not last, the screen is dim, and customer support never replied.',
  'She walked along the shore for three hours, thinking of the letter and of what it meant.',
  'A spokeswoman for the University of Oxford declined to comment on the reports about Dr. Smith.',
  'Shares of Northwind Ltd fell 3.2 percent in London while the index gained 14 points.',
]

/** Returns prose of exactly `bytes` ASCII characters; `turn` varies it. */
export const plainText = (bytes: number, turn: number): string => {
  let text = ''
  for (let at = turn; text.length < bytes; at += 1) {
    const sentence = PROSE[(at * 5 + (at >> 3)) % PROSE.length] ?? ''
    text += `${sentence}${at % 4 === 3 ? '\n\n' : ' '}`
  }
  return text.slice(0, bytes)
}

const SIZE = 51_200
const repeat = (piece: string): string => {
  const size = Buffer.byteLength(piece)
  return piece.repeat(Math.floor(SIZE / size))
}

/** Adversarial texts by their content. */
export const ADVERSARIAL: readonly (readonly [string, string])[] = [
  'a',
  'A',
  '1',
  ',',
  '1,',
  '(',
  '"',
  '. ',
  '! ',
  'x\n',
  'a ',
  'A ',
  'a.',
  'A.B. ',
  'one ',
  'not good ',
  'John ',
  'New York ',
  'May ',
  '$1 ',
  '1/2/',
  '12:',
  'of the ',
  '@a #b ',
  "it's ",
  '👩‍👩‍👧‍👦',
  'é',
  '<b>',
  'Mr. ',
  'good bad but ',
].map((piece) => [JSON.stringify(piece), repeat(piece)] as const)
