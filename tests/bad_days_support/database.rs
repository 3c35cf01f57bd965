//! A PostgreSQL database of a story's own.

pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl Database {
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let server = std::env::var("PHASEGATE_TEST_POSTGRES_URL").map_err(|_| {
            anyhow::anyhow!(
                "PHASEGATE_TEST_POSTGRES_URL is not set: run the tests through tests/run.sh, which starts PostgreSQL"
            )
        })?;
        let name = format!("bad_day_{}", uuid::Uuid::new_v4().simple());
        let (front, _) = server.rsplit_once('/').expect("a PostgreSQL URL names a database");
        let url = format!("{front}/{name}");
        let database = Self { server, name, url };
        database.run("create").await?;
        Ok(database)
    }

    async fn run(&self, what: &str) -> anyhow::Result<()> {
        use sqlx::{Connection as _, Executor as _};
        let mut connection = sqlx::PgConnection::connect(&self.server).await?;
        connection.execute(sqlx::AssertSqlSafe(format!("{what} database {}", self.name))).await?;
        Ok(connection.close().await?)
    }

    pub(crate) async fn drop(self) -> anyhow::Result<()> {
        self.run("drop").await
    }
}
