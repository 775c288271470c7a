import { type Call, type EgressResponse, Failure, type UpstreamMeter } from 'agenthub/plugin'

/** Largest body in which a usage is looked up, because it is parsed in the process. */
const POINTER_BYTES_MAX = 1_048_576

/**
 * Reports the usage that a response states. More than the maximum covers costs the maximum.
 * @param document parsed body, if the usage is in it
 * @throws Failure `upstream_error` if it states no natural number, or nothing where that fails
 */
export function reportUsage(
  { unit, ifAbsent, header, pointer }: UpstreamMeter,
  headers: EgressResponse['headers'],
  document: unknown,
  meter: Call<unknown>['meter'],
): void {
  const stated =
    pointer === undefined ? quantityIn(headers[header ?? '']) : valueAt(pointer, document)
  if (stated !== undefined && stated !== null) {
    if (!isQuantity(stated)) throw usageFailure('is no natural number')
    meter(unit, stated)
    return
  }
  if (ifAbsent === 'fail') throw usageFailure('is missing')
  if (ifAbsent === 'maximum') meter(unit, Number.MAX_SAFE_INTEGER)
}

const isQuantity = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

/** Decimal digits, as a header has them. Another text stays what it is. */
const quantityIn = (text: string | readonly string[] | undefined): unknown =>
  typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text

/** Parses JSON; undefined for other bodies, larger ones, and streams, whose body is empty. */
export function parse(body: Buffer): unknown {
  if (body.length > POINTER_BYTES_MAX) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Value that a JSON Pointer (RFC 6901) names; undefined if there is none. */
function valueAt(pointer: string, document: unknown): unknown {
  let value = document
  for (const token of pointer.slice(1).split('/')) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

const usageFailure = (what: string): Failure =>
  new Failure(502, 'upstream_error', `The usage that the provider should report ${what}.`)
