import { isJsonObject, type JsonObject, objectMember } from '../../../json.ts'
import type { PartEncoding, RequestEncoding, UpstreamEndpoint } from '../../../plugin/upstreams.ts'
import type { DocumentReader, Operation } from './document.ts'
import { withBodyExample } from './examples.ts'
import type { Inputs } from './parameters.ts'
import type { SchemaScope } from './schema-reader.ts'

/** Body of an operation: how its members are sent, and what else constrains the input. */
interface ImportedBody {
  readonly kind: UpstreamEndpoint['body']
  /** Value of `additionalProperties` of the input. */
  readonly open: JsonObject | boolean
  readonly encoding?: Omit<RequestEncoding, 'parameters'>
  /** Further constraints of the input. */
  readonly constraints?: JsonObject
}

const NO_BODY: ImportedBody = { kind: 'none', open: false }
/** Member of the input that is the whole body, if its own members cannot be those of the input. */
const BODY_MEMBER = 'body'

const KINDS: readonly (readonly [RegExp, UpstreamEndpoint['body']])[] = [
  [/^application\/json\b/i, 'json'],
  [/^application\/[\w.+-]+\+json\b|^\*\/\*$|^application\/\*$/i, 'json'],
  [/^application\/x-www-form-urlencoded\b/i, 'form'],
  [/^multipart\/form-data\b/i, 'multipart'],
  [/^(?:text\/|application\/(?:[\w.+-]+\+)?xml\b)/i, 'text'],
  [/^(?:application|image|audio|video)\//i, 'binary'],
]

/** Adds the members of the body to the input; undefined if the operation cannot be sold. */
export function readBody(
  { refs, schemas }: DocumentReader,
  { method, spec, at }: Operation,
  inputs: Inputs,
  scope: SchemaScope,
): ImportedBody | undefined {
  const where = `${at}/requestBody`
  if (spec['requestBody'] === undefined) return NO_BODY
  const body = refs.resolve(spec['requestBody'], where)
  if (!body) return undefined
  const content = objectMember(body, 'content')
  const isRequired = body['required'] === true
  if (Object.keys(content).length === 0) return isRequired ? refs.addGap(where, NO_TYPE) : NO_BODY
  if (method === 'GET') {
    const what = 'the body of a GET is not sent'
    refs.addGap(where, isRequired ? `${what}, and it is required` : what)
    return isRequired ? undefined : NO_BODY
  }
  const found = chooseType(Object.keys(content))
  if (!found)
    return refs.addGap(where, `its media type is not supported: ${Object.keys(content)[0]}`)
  const [type, kind] = found
  const media = refs.resolve(content[type], where) ?? {}
  const schema = withBodyExample(schemas.read(media['schema'] ?? {}, where, scope), media)
  const encoding = {
    ...(!isDefaultType(type, kind) && { contentType: type }),
    ...((kind === 'form' || kind === 'multipart') && partsOf(media, schema, kind)),
  }
  const members = kind === 'text' || kind === 'binary' ? undefined : membersOf(schema)
  const taken = members?.names.find((name) => Object.hasOwn(inputs.properties, name))
  const isAlone = Object.keys(inputs.properties).length === 0
  if (members && taken === undefined && (members.isPlain || (isAlone && isRequired))) {
    return spreadBody(members, inputs, { kind, encoding, isRequired })
  }
  return wrapBody(schema, inputs, { kind, encoding, isRequired })
}

const NO_TYPE = 'the body has no media type'
const DEFAULT_TYPES: Readonly<Partial<Record<UpstreamEndpoint['body'], string>>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}

/** True for ranges too, which cannot be sent, and multipart, whose boundary is that of a body. */
const isDefaultType = (type: string, kind: UpstreamEndpoint['body']): boolean =>
  kind === 'multipart' || type.includes('*') || type.toLowerCase() === DEFAULT_TYPES[kind]

/** Chooses the media type that the hub can send best: JSON before forms before text. */
function chooseType(
  types: readonly string[],
): readonly [type: string, kind: UpstreamEndpoint['body']] | undefined {
  for (const [pattern, kind] of KINDS) {
    const type = types.find((each) => pattern.test(each))
    if (type !== undefined) return [type, kind]
  }
  return undefined
}

interface BodyMembers {
  readonly schema: JsonObject
  readonly names: readonly string[]
  /** True if nothing but the members constrains the object. */
  readonly isPlain: boolean
}

const PLAIN =
  /^(?:type|properties|required|additionalProperties|title|description|examples|default)$/

/** Returns the members of an object schema; undefined if it is, or may be, something else. */
function membersOf(schema: JsonObject): BodyMembers | undefined {
  const { type, properties } = schema
  if (type !== 'object' && !(type === undefined && isJsonObject(properties))) return undefined
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  return { schema, names, isPlain: Object.keys(schema).every((key) => PLAIN.test(key)) }
}

interface BodyTerms {
  readonly kind: UpstreamEndpoint['body']
  readonly encoding: ImportedBody['encoding'] & object
  readonly isRequired: boolean
}

/** The members of the body become members of the input. */
function spreadBody(
  { schema, names, isPlain }: BodyMembers,
  inputs: Inputs,
  { kind, encoding, isRequired }: BodyTerms,
): ImportedBody {
  const { properties, required, additionalProperties = true, type: _, ...rest } = schema
  if (isJsonObject(properties)) Object.assign(inputs.properties, properties)
  const needed = Array.isArray(required) ? (required as string[]) : []
  const open = additionalProperties as JsonObject | boolean
  if (isRequired || needed.length === 0) {
    inputs.required.push(...needed)
    return { kind, open, encoding, ...(!isPlain && { constraints: rest }) }
  }
  const anyMember = { anyOf: names.map((name) => ({ required: [name] })) }
  const constraints = { anyOf: [{ required: needed }, { not: anyMember }] } // a whole body or none
  return { kind, open, encoding: { ...encoding, omitsEmptyBody: true }, constraints }
}

/** The whole body becomes one member of the input. */
function wrapBody(
  schema: JsonObject,
  inputs: Inputs,
  { kind, encoding, isRequired }: BodyTerms,
): ImportedBody {
  const isTaken = Object.hasOwn(inputs.properties, BODY_MEMBER)
  const bodyMember = isTaken ? `request_${BODY_MEMBER}` : BODY_MEMBER
  const { type: _, format: __, contentMediaType: ___, ...rest } = schema
  inputs.properties[bodyMember] =
    kind === 'binary'
      ? { ...rest, type: 'string', contentEncoding: 'base64' }
      : kind === 'text'
        ? { type: 'string' }
        : schema
  if (isRequired) inputs.required.push(bodyMember)
  return { kind, open: false, encoding: { ...encoding, bodyMember } }
}

/** Encodings of the members of a form that differ from the default. */
function partsOf(
  media: JsonObject,
  { properties }: JsonObject,
  kind: 'form' | 'multipart',
): { readonly parts?: Readonly<Record<string, PartEncoding>> } {
  const encodings = objectMember(media, 'encoding')
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const parts = names.flatMap((name) => {
    const member = objectMember(properties as JsonObject, name)
    const { contentType, style, explode } = objectMember(encodings, name)
    const type = typeof contentType === 'string' ? contentType.split(',')[0]!.trim() : undefined
    const isBinary = kind === 'multipart' && isBytes(member)
    const part: PartEncoding = {
      ...(isBinary && { binary: true }),
      ...(type !== undefined && !type.includes('*') && { contentType: type }),
      ...(typeof style === 'string' && { style: style as NonNullable<PartEncoding['style']> }),
      ...(typeof explode === 'boolean' && { explode }),
    }
    if (isBinary) describeAsBase64(properties as Record<string, unknown>, name)
    return Object.keys(part).length > 0 ? [[name, part] as const] : []
  })
  return parts.length > 0 ? { parts: Object.fromEntries(parts) } : {}
}

const isBytes = ({ type, format, contentMediaType, items }: JsonObject): boolean =>
  format === 'binary' ||
  (type === undefined && contentMediaType !== undefined) ||
  (isJsonObject(items) && isBytes(items))

/** Callers send files as Base64 in JSON. */
function describeAsBase64(properties: Record<string, unknown>, name: string): void {
  const { contentMediaType: _, format: __, ...rest } = properties[name] as JsonObject
  const text = { type: 'string', contentEncoding: 'base64' }
  properties[name] = rest['type'] === 'array' ? { ...rest, items: text } : { ...rest, ...text }
}
