import { type JsonObject, objectMember } from '../../../json.ts'
import { parseDocument } from './parse.ts'
import { DOCUMENTS_MAX, pointerParts } from './refs.ts'

/** Fetches documents until the signal aborts; undefined for one that is not available. */
export type FetchDocuments = (
  urls: readonly string[],
  signal?: AbortSignal,
) => Promise<readonly (string | undefined)[]>

/** Member of the root under which other documents are placed. */
const PLACE = 'documents'

interface Source {
  /** Undefined for a document that was sent inline. */
  readonly url: string | undefined
  readonly root: unknown
  /** Reference to its root: `#` or `#/documents/3`. */
  readonly prefix: string
}

interface ExternalRef {
  readonly node: Record<string, unknown>
  readonly url: string
  readonly fragment: string
}

/**
 * Adds the documents that a document references, and rewrites the references in place. Only what
 * its operations reach is fetched; what is not available remains an external reference.
 */
export async function bundleDocuments(
  root: JsonObject,
  url: string | undefined,
  fetchDocuments: FetchDocuments,
): Promise<JsonObject> {
  const self = typeof root['$self'] === 'string' ? root['$self'] : undefined
  const base = self === undefined ? url : (URL.parse(self, url)?.href ?? url)
  const first: Source = { url: base, root, prefix: '#' }
  const sources = new Map<string, Source | undefined>()
  const added: Record<string, unknown> = {}
  const seen = new Set<object>()
  const { paths, components, parameters } = root
  const security = objectMember(components as JsonObject | undefined, 'securitySchemes')
  let found = collectRefs([paths, security, parameters], first, seen)
  while (found.length > 0) {
    const missing = [...new Set(found.map((ref) => ref.url))].filter((each) => !sources.has(each))
    const batch = missing.slice(0, Math.max(0, DOCUMENTS_MAX - sources.size))
    const texts = batch.length > 0 ? await fetchDocuments(batch) : []
    for (const [i, each] of missing.entries()) {
      const document = parseAvailable(texts[i])
      const prefix = `#/${PLACE}/${sources.size}`
      if (document) added[sources.size] = document
      sources.set(each, document && { url: each, root: document, prefix })
    }
    const next: ExternalRef[] = []
    for (const { node, url: target, fragment } of found) {
      const source = sources.get(target)
      if (!source) continue
      node['$ref'] = `${source.prefix}${fragment}`
      next.push(...collectRefs([pointed(source.root, fragment)], source, seen))
    }
    found = next
  }
  return Object.keys(added).length > 0 ? { ...root, [PLACE]: added } : root
}

function parseAvailable(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined
  try {
    return parseDocument(text)
  } catch {
    return undefined // not JSON or YAML: reported where it is referenced
  }
}

/** Rewrites references within a document, and returns those to others, from these nodes on. */
function collectRefs(nodes: readonly unknown[], source: Source, seen: Set<object>): ExternalRef[] {
  const found: ExternalRef[] = []
  const stack = [...nodes]
  while (stack.length > 0) {
    const node = stack.pop()
    if (typeof node !== 'object' || node === null || seen.has(node)) continue
    seen.add(node)
    const ref = '$ref' in node ? node.$ref : undefined
    if (typeof ref === 'string') {
      const [document = '', fragment = ''] = ref.split(/#(.*)/s)
      const url = document === '' ? '' : (URL.parse(document, source.url)?.href ?? '')
      if (document === '' || url === source.url) {
        stack.push(pointed(source.root, fragment))
        Object.assign(node, { $ref: `${source.prefix}${fragment}` })
      } else if (/^https?:/.test(url)) {
        found.push({ node: node as Record<string, unknown>, url, fragment })
      }
    }
    stack.push(...Object.values(node))
  }
  return found
}

/** Target of a JSON pointer; undefined if there is none. */
function pointed(root: unknown, fragment: string): unknown {
  let node = root
  for (const name of pointerParts(fragment)) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return undefined
    node = (node as JsonObject)[name]
  }
  return node
}
