//! SQLite and PostgreSQL behind one face.
//!
//! The queue's SQL is written once and runs on both engines; this file holds the little that differs: how to connect,
//! how to begin, and the row locks that only PostgreSQL needs. It stands in the place of `sqlx::Any`, which can't set
//! SQLite's durability and can't begin an immediate transaction through the same door.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, Postgres, Row as _, Sqlite, SqlitePool, Transaction};

use super::InboxError;

/// How long a SQLite connection waits for another process's write.
const BUSY: Duration = Duration::from_secs(10);
/// How long an operation waits for SQLite's one connection: longer than another process's write holds that up, and than a busy disk
/// takes for those before it. Whoever answers GitHub waits less, by a limit of its own.
const TURN: Duration = Duration::from_secs(30);
/// How long an operation waits for a connection before it is a fault. GitHub waits for ten seconds in all.
const ACQUIRE: Duration = Duration::from_secs(5);

const CHECK_POSTGRES: &str = "host, port, name, user and password in DATABASE_URL, that the server runs, and that this \
                              machine may connect to it";
const CHECK_SQLITE: &str = "that the folder of the file that DATABASE_URL names exists, and that both may be written";

#[derive(Debug, Clone)]
pub(super) enum Db {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// A value for a `$n`.
#[derive(Debug, Clone)]
pub(super) enum Arg {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

impl From<i64> for Arg {
    fn from(n: i64) -> Self {
        Self::Int(Some(n))
    }
}

impl From<Option<i64>> for Arg {
    fn from(n: Option<i64>) -> Self {
        Self::Int(n)
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for Arg {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<&[u8]> for Arg {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

/// The arguments of a statement, in order.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::inbox::db::Arg::from($value)),*] };
}
pub(super) use args;

/// A row of either engine. Columns are read by position.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(super) fn int(&self, at: usize) -> Result<i64, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(at),
            Self::Postgres(row) => row.try_get(at),
        }
    }

    pub(super) fn maybe_int(&self, at: usize) -> Result<Option<i64>, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(at),
            Self::Postgres(row) => row.try_get(at),
        }
    }

    pub(super) fn text(&self, at: usize) -> Result<String, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(at),
            Self::Postgres(row) => row.try_get(at),
        }
    }

    pub(super) fn maybe_text(&self, at: usize) -> Result<Option<String>, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(at),
            Self::Postgres(row) => row.try_get(at),
        }
    }

    pub(super) fn bytes(&self, at: usize) -> Result<Vec<u8>, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(at),
            Self::Postgres(row) => row.try_get(at),
        }
    }
}

/// A transaction on either engine. Dropped without [`Tx::commit`], it never happened.
pub(super) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// SQL as sqlx wants it: a constant, or text put together here from constants.
pub(super) trait Sql: Send {
    fn checked(self) -> sqlx::SqlStr;
}

impl Sql for &'static str {
    fn checked(self) -> sqlx::SqlStr {
        sqlx::SqlSafeStr::into_sql_str(self)
    }
}

/// Text made of constants of this room only; no value from outside is ever pasted into SQL.
pub(super) struct Composed(pub(super) String);

impl Sql for Composed {
    fn checked(self) -> sqlx::SqlStr {
        sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(self.0))
    }
}

fn sqlite_args(args: Vec<Arg>) -> Result<SqliteArguments, sqlx::Error> {
    use sqlx::Arguments as _;
    let mut out = SqliteArguments::default();
    for arg in args {
        match arg {
            Arg::Int(n) => out.add(n),
            Arg::Text(text) => out.add(text),
            Arg::Bytes(bytes) => out.add(bytes),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(out)
}

fn postgres_args(args: Vec<Arg>) -> Result<PgArguments, sqlx::Error> {
    use sqlx::Arguments as _;
    let mut out = PgArguments::default();
    for arg in args {
        match arg {
            Arg::Int(n) => out.add(n),
            Arg::Text(text) => out.add(text),
            Arg::Bytes(bytes) => out.add(bytes),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(out)
}

impl Tx {
    /// Runs a statement and says how many rows it touched.
    pub(super) async fn run(&mut self, sql: impl Sql, args: Vec<Arg>) -> Result<u64, sqlx::Error> {
        let sql = sql.checked();
        Ok(match self {
            Self::Sqlite(tx) => sqlx::query_with(sql, sqlite_args(args)?).execute(&mut **tx).await?.rows_affected(),
            Self::Postgres(tx) => sqlx::query_with(sql, postgres_args(args)?).execute(&mut **tx).await?.rows_affected(),
        })
    }

    pub(super) async fn rows(&mut self, sql: impl Sql, args: Vec<Arg>) -> Result<Vec<Row>, sqlx::Error> {
        let sql = sql.checked();
        Ok(match self {
            Self::Sqlite(tx) => {
                let rows = sqlx::query_with(sql, sqlite_args(args)?).fetch_all(&mut **tx).await?;
                rows.into_iter().map(Row::Sqlite).collect()
            }
            Self::Postgres(tx) => {
                let rows = sqlx::query_with(sql, postgres_args(args)?).fetch_all(&mut **tx).await?;
                rows.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(super) async fn row(&mut self, sql: impl Sql, args: Vec<Arg>) -> Result<Option<Row>, sqlx::Error> {
        Ok(self.rows(sql, args).await?.into_iter().next())
    }

    pub(super) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => tx.commit().await,
        }
    }

    pub(super) async fn rollback(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => tx.rollback().await,
            Self::Postgres(tx) => tx.rollback().await,
        }
    }

    pub(super) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }
}

/// Makes the file, if it is missing, so that nobody else on the machine can read it: it holds what private repositories
/// sent. SQLite makes its other files with the same rights. What goes wrong here goes wrong again when it is opened, and
/// is told then.
#[cfg(unix)]
fn keep_to_ourselves(file: &std::path::Path) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
}

#[cfg(not(unix))]
fn keep_to_ourselves(_: &std::path::Path) {}

impl Db {
    /// Opens `postgres://…`, `sqlite:file.db`, `sqlite::memory:` or the path of a SQLite file, which is created when
    /// it is missing. No error of this function repeats the URL, because it may hold a password.
    pub(super) async fn open(url: &str) -> Result<Self, InboxError> {
        let url = url.trim();
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            Self::open_postgres(url).await
        } else if let Some(rest) = url.strip_prefix("sqlite:") {
            if rest.trim_matches('/').is_empty() {
                return Err(InboxError::Url("the SQLite URL names no file; write sqlite:phasegate.db"));
            }
            let options = SqliteConnectOptions::from_str(url)
                .map_err(|_| InboxError::Url("not a SQLite URL; write sqlite:phasegate.db"))?;
            Self::open_sqlite(options, rest.contains(":memory:") || rest.contains("mode=memory")).await
        } else if url.is_empty() || url.contains("://") {
            Err(InboxError::Url("unknown kind of database; write sqlite:phasegate.db or postgres://user@host/name"))
        } else {
            Self::open_sqlite(SqliteConnectOptions::new().filename(url), false).await
        }
    }

    async fn open_postgres(url: &str) -> Result<Self, InboxError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| InboxError::Url("not a PostgreSQL URL; write postgres://user:password@host:5432/name"))?
            .application_name("phasegate");
        let name = options.get_database().unwrap_or_else(|| options.get_username());
        let database = match options.get_socket() {
            Some(socket) => format!("the database {name} of PostgreSQL at {}", socket.display()),
            None => format!("the database {name} of PostgreSQL at {}:{}", options.get_host(), options.get_port()),
        };
        let failed = |error: sqlx::Error| InboxError::Open {
            database: database.clone(),
            why: in_plain_words(&error),
            check: CHECK_POSTGRES,
        };
        // A pool tries until its time is over, and then only says so; one connection says what is wrong, at once.
        let first = tokio::time::timeout(ACQUIRE, PgConnection::connect_with(&options)).await;
        let first = first.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map_err(failed)?;
        // Whatever becomes of this one, the pool makes its own.
        let _ = first.close().await;
        let pool = PgPoolOptions::new()
            .max_connections(10)
            .acquire_timeout(ACQUIRE)
            .connect_with(options)
            .await
            .map_err(failed)?;
        Ok(Self::Postgres(pool))
    }

    async fn open_sqlite(options: SqliteConnectOptions, memory: bool) -> Result<Self, InboxError> {
        let database = if memory {
            "SQLite in memory".to_owned()
        } else {
            format!("the SQLite file {}", options.get_filename().display())
        };
        if !memory {
            keep_to_ourselves(options.get_filename());
        }
        let options = options
            .create_if_missing(true)
            .foreign_keys(true)
            .busy_timeout(BUSY)
            .journal_mode(SqliteJournalMode::Wal)
            // With NORMAL, a power cut may take the last commits of a WAL: deliveries already acknowledged.
            .synchronous(SqliteSynchronous::Full);
        // One connection: SQLite has one writer anyway, and waiting for it in our own queue is fair, where the busy
        // timeout is a lottery. It is kept open for good, because a database in memory dies with its connection.
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .min_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .acquire_timeout(TURN);
        // Several processes that turn a new file to WAL at once find it locked, and SQLite does not wait then.
        let mut tries = 0;
        loop {
            tries += 1;
            match pool.clone().connect_with(options.clone()).await {
                Ok(pool) => return Ok(Self::Sqlite(pool)),
                Err(err) if tries < 100 && is_locked(&err) => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(error) => {
                    return Err(InboxError::Open { database, why: in_plain_words(&error), check: CHECK_SQLITE });
                }
            }
        }
    }

    /// Begins a transaction that is going to write.
    pub(super) async fn begin(&self) -> Result<Tx, sqlx::Error> {
        Ok(match self {
            // A deferred transaction that reads first and then writes fails with SQLITE_BUSY when another wrote in
            // between; an immediate one waits its turn.
            Self::Sqlite(pool) => Tx::Sqlite(pool.begin_with("begin immediate").await?),
            // The claim's reasoning needs a fresh snapshot for each statement, whatever a role's default is.
            Self::Postgres(pool) => Tx::Postgres(pool.begin_with("begin isolation level read committed").await?),
        })
    }

    /// Begins a transaction that only reads.
    pub(super) async fn read(&self) -> Result<Tx, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => Tx::Sqlite(pool.begin().await?),
            Self::Postgres(pool) => Tx::Postgres(pool.begin_with("begin isolation level repeatable read").await?),
        })
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// Why a database can't be opened, without the places in its source code that it adds.
fn in_plain_words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::PoolTimedOut => format!("no answer within {} seconds", ACQUIRE.as_secs()),
        other => other.to_string(),
    }
}

fn is_locked(err: &sqlx::Error) -> bool {
    // SQLITE_BUSY and SQLITE_LOCKED, with their extended codes in the higher bits.
    let code = err.as_database_error().and_then(|e| e.code()).and_then(|c| c.parse::<u32>().ok());
    matches!(code.map(|c| c & 0xff), Some(5 | 6))
}
