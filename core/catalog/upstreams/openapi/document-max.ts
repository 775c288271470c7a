/** Maximum size of an OpenAPI document, in bytes. */
export const DOCUMENT_MAX = 20_971_520
