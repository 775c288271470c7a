/**
 * Settings of a superuser's transaction in which no triggers run, so that it may change entries,
 * also on the workers of a cluster.
 */
export const WITHOUT_TRIGGERS = `SET LOCAL citus.propagate_set_commands = 'local';
  SET LOCAL session_replication_role = replica`
