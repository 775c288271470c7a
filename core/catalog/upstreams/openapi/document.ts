import type { JsonObject } from '../../../json.ts'
import type { EndpointInfo } from '../store.ts'
import type { RefResolver } from './refs.ts'
import type { SchemaReader } from './schema-reader.ts'

/** Operation of a document with its location. */
export interface Operation {
  readonly method: EndpointInfo['method']
  readonly path: string
  readonly item: JsonObject
  readonly spec: JsonObject
  readonly at: string
}

/** Reads the parts of one document. */
export interface DocumentReader {
  readonly refs: RefResolver
  readonly schemas: SchemaReader
  readonly limits: EndpointLimits
}

/** Limits that the provider sets for all endpoints of an import. */
export interface EndpointLimits {
  readonly deadlineSeconds?: number | undefined
  readonly maxBytes?: number | undefined
}
