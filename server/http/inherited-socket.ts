/** File descriptor of the listening socket that a supervisor passes (`LISTEN_FDS`). */
export const INHERITED_FD = 3
