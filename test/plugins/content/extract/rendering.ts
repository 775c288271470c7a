/** Renders the Markdown that extraction writes as HTML, by the rules of CommonMark and GitHub. */
export const render = (markdown: string): string => blocksOf(markdown.split('\n')).join('\n')

const FENCE = /^(`{3,})(\S*)$/
const ITEM = /^(?:- |(\d+)\. )/
/** Lines that end a paragraph: of lists, only those of bullets and from 1. */
const INTERRUPTION = /^(?:- |1\. |> ?|#{1,6} |`{3,}|\|)|^$/

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const INLINE = new RegExp(
  [
    /\\([\\`*_[\]<#>+.$-])/,
    /(?<ticks>`+)(.+?)\k<ticks>(?!`)/,
    /\$(\S|\S[^$]*\S)\$/,
    /\[((?:\\.|[^\]\\])*)\]\(([^)]*)\)/,
    /(?<mark>\*\*|~~)(.+?)\k<mark>/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)

const inline = (text: string): string => {
  let [html, from] = ['', 0]
  for (const found of text.matchAll(INLINE)) {
    const [whole, escaped, , code, tex, label, href, mark, marked] = found
    html += escapeHtml(text.slice(from, found.index))
    from = found.index + whole.length
    if (escaped !== undefined) html += escapeHtml(escaped)
    else if (code !== undefined) html += `<code>${escapeHtml(code)}</code>`
    else if (tex !== undefined) html += `<math alttext="${escapeHtml(tex)}"></math>`
    else if (label !== undefined) html += `<a href="${href}">${inline(label)}</a>`
    else html += mark === '**' ? `<b>${inline(marked!)}</b>` : `<del>${inline(marked!)}</del>`
  }
  return html + escapeHtml(text.slice(from))
}

/** Returns the lines before the first that ends a block. */
function takeUntil(lines: readonly string[], isEnd: (line: string) => boolean): string[] {
  const end = lines.findIndex(isEnd)
  return lines.slice(0, end < 0 ? undefined : end)
}

const cellsOf = (row: string): string[] =>
  row
    .slice(2, -2)
    .split(/(?<!\\)\|/)
    .map((cell) => inline(cell.replaceAll('\\|', '|').trim()))

function list(lines: readonly string[]): { html: string; length: number } {
  const [marker, start] = ITEM.exec(lines[0]!)!
  const items: string[][] = []
  let length = 0
  for (const line of lines) {
    const isIndented = line.startsWith(' '.repeat(marker.length)) || line === ''
    const found = ITEM.exec(line)
    if (found && (found[1] === undefined) === (start === undefined)) {
      items.push([line.slice(found[0].length)])
    } else if (isIndented) items.at(-1)!.push(line.slice(marker.length))
    else break
    length++
  }
  const name = start === undefined ? 'ul' : 'ol'
  const html = items.map((item) => `<li>${blocksOf(item).join('\n')}</li>`).join('')
  return { html: `<${name} start="${start ?? 1}">${html}</${name}>`, length }
}

function blocksOf(lines: readonly string[]): string[] {
  const [first, ...others] = lines
  if (first === undefined) return []
  if (first === '') return blocksOf(others)
  const fence = FENCE.exec(first)
  if (fence) {
    const code = takeUntil(others, (line) => line === fence[1])
    const text = escapeHtml(code.join('\n'))
    const html = `<pre><code class="language-${fence[2]}">${text}</code></pre>`
    return [html, ...blocksOf(others.slice(code.length + 1))]
  }
  if (ITEM.test(first)) {
    const { html, length } = list(lines)
    return [html, ...blocksOf(lines.slice(length))]
  }
  const isHtml = first.startsWith('<')
  const block = [
    first,
    ...takeUntil(others, (line) => (isHtml ? line === '' : INTERRUPTION.test(line))),
  ]
  if (first.startsWith('|')) {
    const rows = takeUntil(lines, (line) => !line.startsWith('|'))
    const html = rows
      .filter((_, at) => at !== 1)
      .map((row, at) => {
        const name = at === 0 ? 'th' : 'td'
        return `<tr>${cellsOf(row)
          .map((cell) => `<${name}>${cell}</${name}>`)
          .join('')}</tr>`
      })
    return [`<table>${html.join('')}</table>`, ...blocksOf(lines.slice(rows.length))]
  }
  const html = isHtml ? block.join('\n') : `<p>${inline(block.join('\n'))}</p>`
  return [html, ...blocksOf(lines.slice(block.length))]
}
