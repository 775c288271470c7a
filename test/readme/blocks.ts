/** A code block of a README. */
export interface Block {
  readonly file: string
  readonly line: number
  /** `sh`, `ts`, `json`, or empty for diagrams and output. */
  readonly language: string
  readonly text: string
}

/** Finds the code blocks of a Markdown file, also those in lists. */
export function findBlocks(file: string, markdown: string): Block[] {
  return [...markdown.matchAll(/^([ ]*)```(\w*)\n(.*?)^\1```$/gms)].map((match) => {
    const [, indent, language, body] = match as unknown as [string, string, string, string]
    const line = markdown.slice(0, match.index).split('\n').length + 1
    return { file, line, language, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })
}

/** Splits a shell block into commands without their comments. */
export const commandsOf = ({ text }: Block): string[] =>
  text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))

/** Returns true for the code of a service, which the run does not add to the agent. */
export const isService = (text: string): boolean => text.includes('defineService(')
