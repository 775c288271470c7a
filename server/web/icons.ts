import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Html } from './html.ts'

const NAMES = [
  'arrow-right-start-on-rectangle',
  'bars-3',
  'book-open',
  'building-storefront',
  'clipboard-document',
  'command-line',
  'ellipsis-horizontal',
  'magnifying-glass',
  'scale',
  'shield-check',
  'user-circle',
] as const
export type IconName = (typeof NAMES)[number]

/** Reads an icon of Heroicons as inline SVG, which screen readers skip. */
function readIcon(name: IconName): Html {
  const path = fileURLToPath(import.meta.resolve(`heroicons/24/outline/${name}.svg`))
  const lines = readFileSync(path, 'utf8').split('\n')
  const svg = lines.map((line) => line.trim()).join('')
  return new Html(svg.replace('<svg ', '<svg class="icon" width="20" height="20" '))
}

const icons = new Map(NAMES.map((name) => [name, readIcon(name)]))

/** Icon beside a text, in its color. */
export const icon = (name: IconName): Html => icons.get(name)!
