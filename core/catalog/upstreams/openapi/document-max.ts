/** Maximum size of an OpenAPI document, in bytes. */
export const DOCUMENT_MAX = 2_097_152
