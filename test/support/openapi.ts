import { type ApiResponse, ask } from './ask.ts'

type Json = Readonly<Record<string, unknown>>
type Paths = Readonly<Record<string, Readonly<Record<string, Json>>>>
interface Shared {
  readonly paths: Paths
  readonly tags: readonly { readonly name: string }[]
  readonly components: { readonly responses: Json }
}
interface ApiCatalog {
  readonly linkset: readonly [
    unknown,
    { readonly 'service-desc': readonly { readonly href: string }[] },
    ...unknown[],
  ]
}

/**
 * Fetches the OpenAPI documents of a hub that `/.well-known/api-catalog` lists as one, with shared
 * responses where they are referred to.
 */
export async function readOpenApi(url: string): Promise<ApiResponse> {
  const catalog = await ask(url, '/.well-known/api-catalog')
  const { linkset } = catalog.body as unknown as ApiCatalog
  const urls = linkset[1]['service-desc'].map(({ href }) => new URL(href).pathname)
  const [first, ...others] = await Promise.all(urls.map((path) => ask(url, path)))
  const documents = [first!, ...others].map(({ body }) => body as unknown as Shared)
  const paths: Record<string, Record<string, Json>> = {}
  for (const document of documents) {
    for (const [path, methods] of Object.entries(withResponses(document))) {
      paths[path] = { ...paths[path], ...methods }
    }
  }
  const tags = new Map(documents.flatMap((each) => each.tags).map((tag) => [tag.name, tag]))
  return { ...first!, body: { ...first!.body, paths, tags: [...tags.values()] } }
}

/** Paths of a document with shared responses where they are referred to. */
function withResponses({ paths, components }: Shared): Paths {
  const resolve = ({ $ref: ref, ...response }: Json): unknown =>
    typeof ref === 'string' ? components.responses[ref.split('/').at(-1)!] : response
  return mapMembers(paths, (methods) =>
    mapMembers(methods, (operation) => ({
      ...operation,
      responses: mapMembers(operation['responses'] as Readonly<Record<string, Json>>, resolve),
    })),
  )
}

const mapMembers = <T, U>(members: Readonly<Record<string, T>>, map: (member: T) => U) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]))
