#!/bin/sh
# Makes the secrets of a new hub and the files that contain them; replaces nothing.
# usage: secrets.sh FOLDER BASE_URL RPC_URL TREASURY_ADDRESS [POSTGRES PGBOUNCER REDIS: their hosts]
set -eu
umask 077
folder=$1 base_url=$2 rpc_url=$3 treasury=$4
postgres=${5:-127.0.0.1} pgbouncer=${6:-127.0.0.1} redis=${7:-127.0.0.1}
if [ -e "$folder/hub.env" ]; then
  echo "$folder/hub.env exists: nothing was changed" >&2
  exit 1
fi
mkdir -p "$folder"
cd "$folder"

secret() { openssl rand -hex 24; }
owner=$(secret) web=$(secret) backup=$(secret) redis_password=$(secret)
# The hub derives the password of its login in the same way (core/db/logins.ts).
serving=$(printf 'agenthub agenthub_serving' | openssl dgst -sha256 -hmac "$owner" -binary |
  base64 | tr '+/' '-_' | tr -d '=')

cat > hub.env <<EOF
HUB_BASE_URL=$base_url
HUB_PROXIES=1
HUB_JOBS=off
HUB_BROWSERS=0
HUB_SIGNING_KEY=$(openssl genpkey -algorithm ed25519 -outform DER | base64 | tr -d '\n')
HUB_METRICS_TOKEN=$(secret)
DATABASE_URL=postgres://hub_web:$web@$pgbouncer:6432/agenthub
DATABASE_DIRECT_URL=postgres://agenthub_serving:$serving@$postgres:5432/agenthub
REDIS_URL=redis://:$redis_password@$redis:6379
RPC_URL=$rpc_url
TREASURY_ADDRESS=$treasury
SPEND_WALLET_KEY=0x$(openssl rand -hex 32)
GAS_WALLET_KEY=0x$(openssl rand -hex 32)
HUB_ETH_PRICE=3000
EOF
# Only migrations need the owner of the database.
echo "DATABASE_OWNER_URL=postgres://hub_owner:$owner@$postgres:5432/agenthub" > owner.env
cat > backup.env <<EOF
HUB_BACKUP_PASSPHRASE=$(secret)
HUB_BACKUP_DATABASE_URL=postgres://hub_backup:$backup@$postgres:5432/agenthub
EOF
echo "POSTGRES_PASSWORD=$(secret)" > postgres.env
echo "requirepass $redis_password" > redis.conf
sed -n 's/^HUB_METRICS_TOKEN=//p' hub.env > metrics-token

cat > database.sql <<EOF
CREATE ROLE hub_app NOLOGIN;
CREATE ROLE hub_finance NOLOGIN;
CREATE ROLE hub_jobs NOLOGIN;
CREATE ROLE hub_owner LOGIN CREATEROLE PASSWORD '$owner';
GRANT hub_app, hub_finance, hub_jobs TO hub_owner WITH ADMIN OPTION;
CREATE ROLE hub_web LOGIN PASSWORD '$web' IN ROLE hub_app;
ALTER ROLE hub_web SET role = hub_app;
ALTER ROLE hub_web SET statement_timeout = '30s';
ALTER ROLE hub_web SET lock_timeout = '10s';
ALTER ROLE hub_web SET jit = off;
ALTER ROLE hub_web SET max_parallel_workers_per_gather = 0;
CREATE ROLE hub_backup LOGIN REPLICATION PASSWORD '$backup' IN ROLE hub_app;
CREATE DATABASE agenthub OWNER hub_owner TEMPLATE template0 ENCODING 'UTF8';
EOF
printf '"hub_web" "%s"\n' "$web" > userlist.txt
cat > pgbouncer.ini <<EOF
[databases]
agenthub = host=$postgres port=5432
[pgbouncer]
listen_addr = $pgbouncer
listen_port = 6432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = /etc/pgbouncer/userlist.txt
pool_mode = transaction
default_pool_size = 40
max_client_conn = 1000
; After a restart of PostgreSQL: the default refuses clients for up to 15 s.
server_login_retry = 1
EOF
echo "Secrets are in $folder. Store a copy of hub.env, owner.env and backup.env elsewhere."
