import { existsSync, readFileSync } from 'node:fs'

/** Finds package.json: two folders up in the sources, three in the published package. */
export function versionOf(): string {
  const places = ['../../package.json', '../../../package.json']
  const place = places.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  if (!place) return 'unknown'
  return (JSON.parse(readFileSync(place, 'utf8')) as { version: string }).version
}
