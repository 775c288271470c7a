import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

/** English names of all CPV codes: © European Union, eForms SDK 1.15.1, CC BY 4.0. */
let names: ReadonlyMap<string, string> | undefined

const FILE = new URL('../data/cpv-names.tsv.gz', import.meta.url)

/** Reads the table when it is first needed. */
const table = (): ReadonlyMap<string, string> =>
  (names ??= new Map(
    gunzipSync(readFileSync(FILE))
      .toString('utf8')
      .split('\n')
      .map((line) => line.split('\t') as [string, string]),
  ))

/** Names by code; codes that are not on the list have none. */
export const namesOfCodes = (codes: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    codes.flatMap((code) => {
      const name = table().get(code)
      return name === undefined ? [] : [[code, name]]
    }),
  )
