/** The longest message between hub and plugin, in bytes. */
export const MESSAGE_MAX = 8 * 1_048_576
/** Of a text that says what went wrong, in characters. */
export const DETAIL_MAX = 2_000
/** The largest piece of a stream, in bytes. */
export const PIECE_MAX = 65_536
/** Connections to its database that a plugin which runs apart may have at a time. */
export const SESSIONS_MAX = 4
