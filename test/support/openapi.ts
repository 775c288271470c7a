import { type ApiResponse, ask } from './ask.ts'

type Json = Readonly<Record<string, unknown>>
interface Shared {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>
  readonly components: { readonly responses: Json }
}

/** Fetches the OpenAPI document of a hub, with shared responses where they are referred to. */
export async function readOpenApi(url: string): Promise<ApiResponse> {
  const answer = await ask(url, '/openapi.json')
  const { paths, components } = answer.body as unknown as Shared
  const resolve = ({ $ref: ref, ...response }: Json): unknown =>
    typeof ref === 'string' ? components.responses[ref.split('/').at(-1)!] : response
  const full = mapMembers(paths, (methods) =>
    mapMembers(methods, (operation) => ({
      ...operation,
      responses: mapMembers(operation['responses'] as Readonly<Record<string, Json>>, resolve),
    })),
  )
  return { ...answer, body: { ...answer.body, paths: full } }
}

const mapMembers = <T, U>(members: Readonly<Record<string, T>>, map: (member: T) => U) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]))
