import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseDocument } from '../../core/catalog/upstreams/openapi/parse.ts'
import { readOpenApi } from '../../core/catalog/upstreams/openapi/read.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../core/json.ts'
import { loadBuilder } from './openapi/builder.ts'
import { compareRequests, documentValidator, UNVERIFIED } from './openapi/compare.ts'
import { atLeast, none, type Report } from './report.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
const BATCH = 100
const SHOWN = 40

/** Verdicts on one operation. */
type Verdict = 'exact' | 'relaxed' | 'refused' | 'incomplete' | 'wrong'

interface Judged {
  readonly file: string
  readonly at: string
  readonly verdict: Verdict
  readonly why: string
}

/**
 * Imports every document of a folder and judges each operation: what a request of the hub would be
 * is compared with what `swagger-client` builds from the original document. `incomplete` operations
 * reference files that the folder lacks.
 */
export async function openApiImports(data: string | undefined): Promise<Report> {
  if (data === undefined) throw new Error('name a folder of documents: --data DIR')
  const build = loadBuilder()
  const files = readdirSync(data).filter((name) => /\.(?:json|ya?ml)$/.test(name))
  const judged: Judged[] = []
  const unreadable: [string, string][] = []
  const start = performance.now()
  for (const file of files) {
    try {
      judged.push(...judgeDocument(file, readFileSync(join(data, file), 'utf8'), build))
    } catch (error) {
      unreadable.push([file, (error as Error).message])
    }
  }
  const count = (verdict: Verdict): number =>
    judged.filter((each) => each.verdict === verdict).length
  const complete = judged.length - count('incomplete')
  const share = complete === 0 ? 0 : Math.round((count('exact') / complete) * 1_000) / 10
  const notExact = judged.filter(({ verdict }) => verdict !== 'exact' && verdict !== 'incomplete')
  const reasons = Map.groupBy(notExact, ({ verdict, why }) => `${verdict}: ${why.split(':')[0]}`)
  const common = [...reasons].sort(([, a], [, b]) => b.length - a.length).slice(0, SHOWN)
  return {
    name: 'openapi',
    figures: {
      documents: files.length,
      'documents refused': unreadable.length,
      operations: judged.length,
      'listed exactly as declared': count('exact'),
      'of these, without a valid sample': judged.filter(({ why }) => why === UNVERIFIED).length,
      'listed, accepting more': count('relaxed'),
      'refused with a reason': count('refused'),
      'listed wrongly': count('wrong'),
      'in documents with absent parts': count('incomplete'),
      seconds: Math.round((performance.now() - start) / 1_000),
    },
    tables: [
      {
        title: 'Not listed exactly',
        columns: ['reason', 'example', 'operations'],
        rows: common.map(([why, [first, ...more]]) => [
          why.slice(0, 110),
          `${first!.file.slice(0, 30)} ${first!.at}`.slice(0, 90),
          more.length + 1,
        ]),
      },
      { title: 'Refused documents', columns: ['document', 'reason'], rows: unreadable },
    ],
    targets: [
      atLeast('exactly as declared (%)', share, 95),
      none('listed wrongly', count('wrong')),
    ],
  }
}

type Named = readonly [path: string, method: (typeof METHODS)[number]]

/** Operations of one server each, as many as one service may have. */
function batchesOf(root: JsonObject, operations: readonly Named[]): readonly (readonly Named[])[] {
  const byServer = Map.groupBy(operations, ([path, method]) => {
    const item = objectMember(objectMember(root, 'paths'), path)
    return JSON.stringify(objectMember(item, method)['servers'] ?? item['servers'])
  })
  const batches = [...byServer.values()].flatMap((same) =>
    Array.from({ length: Math.ceil(same.length / BATCH) }, (_, i) =>
      same.slice(i * BATCH, (i + 1) * BATCH),
    ),
  )
  return batches.length > 0 ? batches : [[]]
}

const isWithin = (at: string, place: string): boolean =>
  place === at ||
  (place.startsWith(`${at}/`) &&
    /^(?:parameters|requestBody|responses)\//.test(`${place.slice(at.length + 1)}/`))

function judgeDocument(
  file: string,
  text: string,
  build: ReturnType<typeof loadBuilder>,
): readonly Judged[] {
  const root = parseDocument(text)
  const paths = objectMember(root, 'paths')
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => isJsonObject(item) && isJsonObject(item[method])).map(
      (method) => [path, method] as const,
    ),
  )
  const judged: Judged[] = []
  const isDocumentValid = documentValidator(root)
  for (const batch of batchesOf(root, operations)) {
    const only = batch.map(([path, method]) => `${method.toUpperCase()} ${path}`)
    const api = readOpenApi(text, only.length > 0 ? { only } : {})
    const gapsAt = (at: string): readonly string[] =>
      api.gaps.filter((gap) => isWithin(at, gap.at)).map(({ what }) => what)
    for (const [n, [path, method]] of batch.entries()) {
      const at = only[n]!
      const endpoint = api.endpoints.find((each) => `${each.method} ${each.path}` === at)
      const gaps = gapsAt(at)
      const judge = (verdict: Verdict, why = ''): void =>
        void judged.push({ file, at, verdict, why })
      const item = paths[path] as JsonObject
      const isElsewhere = gaps.some((what) => what.includes('other document'))
      if (isElsewhere || objectMember(item, method)['$ref'] !== undefined) judge('incomplete')
      else if (!endpoint) judge('refused', gaps[0] ?? 'NO REASON')
      else {
        const operation = { root, path, method, item, isValid: isDocumentValid }
        const difference = compareRequests(operation, endpoint, build)
        if (difference === UNVERIFIED) judge(gaps.length > 0 ? 'relaxed' : 'exact', UNVERIFIED)
        else if (difference !== undefined) judge('wrong', difference)
        else if (gaps.length > 0) judge('relaxed', gaps[0])
        else judge('exact')
      }
    }
  }
  return judged
}
