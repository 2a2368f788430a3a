-- A small shop, for SQLite and PostgreSQL alike.
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT,
    country TEXT NOT NULL,
    signed_up DATE NOT NULL
);

CREATE TABLE products (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    category TEXT NOT NULL,
    price NUMERIC(10, 2) NOT NULL,
    discontinued BOOLEAN NOT NULL
);

CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    placed_at TIMESTAMP NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('placed', 'delivered', 'cancelled', 'returned')),
    coupon TEXT
);

CREATE TABLE items (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    product_id INTEGER NOT NULL REFERENCES products (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price NUMERIC(10, 2) NOT NULL,
    PRIMARY KEY (order_id, product_id)
);

INSERT INTO customers (id, name, email, country, signed_up) VALUES
    (1, 'Ana Moreira', 'ana@shop.example', 'Portugal', '2025-01-10'),
    (2, 'Rui Alves', NULL, 'Portugal', '2025-02-01'),
    (3, 'Ana Moreira', 'a.moreira@shop.example', 'Brazil', '2025-02-01'),
    (4, 'Joao Lima', 'joao@shop.example', 'Brazil', '2025-06-15'),
    (5, 'Camila Rojas', 'camila@shop.example', 'Chile', '2025-07-30'),
    (6, 'Diego Soto', '', 'Chile', '2025-12-31'),
    (7, 'Ingrid Berg', 'ingrid@shop.example', 'Norway', '2026-01-01'),
    (8, 'Oskar Lund', NULL, 'Norway', '2026-03-01'),
    (9, 'Petra Novak', 'petra@shop.example', 'Czechia', '2026-03-01'),
    (10, 'Milan Kral', 'milan@shop.example', 'Czechia', '2026-04-20'),
    (11, 'Lea Blanc', NULL, 'France', '2026-05-01'),
    (12, 'Rui Alves', NULL, 'Portugal', '2025-02-02'),
    (13, 'Lea Blanc', NULL, 'France', '2026-05-02'),
    (14, 'Ada Holm', NULL, 'Norway', '2025-11-11'),
    (15, 'Jon Palsson', 'jon@shop.example', 'Iceland', '2026-01-15');

INSERT INTO products (id, name, category, price, discontinued) VALUES
    (1, 'Tea pot', 'kitchen', 24.99, FALSE),
    (2, 'Tea cup', 'kitchen', 9.99, FALSE),
    (3, 'Teak bench', 'garden', 180.00, FALSE),
    (4, 'Watering can', 'garden', 15.00, FALSE),
    (5, 'Seed tray', 'garden', 10.00, FALSE),
    (6, 'Bread knife', 'kitchen', 25.00, FALSE),
    (7, 'Desk lamp', 'office', 79.00, FALSE),
    (8, 'Armchair', 'living', 320.00, TRUE),
    (9, 'Wall clock', 'living', 180.00, FALSE),
    (10, 'Notebook', 'office', 4.50, FALSE),
    (11, 'Paper clips', 'office', 20.00, TRUE),
    (12, 'Trowel', 'garden', 14.99, FALSE),
    (13, 'Sieve', 'kitchen', 14.99, TRUE),
    (14, 'Ink', 'office', 10.01, FALSE),
    (15, 'Garden swing', 'garden', 180.00, FALSE),
    (16, 'Arch lamp', 'office', 180.00, FALSE),
    (17, 'Butter dish', 'kitchen', 25.50, FALSE),
    (18, 'Plant pot', 'garden', 20.50, FALSE);

INSERT INTO orders (id, customer_id, placed_at, status, coupon) VALUES
    (1, 1, '2026-02-28 23:59:59', 'delivered', NULL),
    (2, 1, '2026-03-01 00:00:00', 'delivered', 'SPRING'),
    (3, 1, '2026-03-31 23:59:59', 'returned', NULL),
    (4, 2, '2026-04-01 00:00:00', 'placed', NULL),
    (5, 2, '2026-05-13 12:00:00', 'cancelled', NULL),
    (6, 3, '2026-05-13 11:59:59', 'delivered', NULL),
    (7, 4, '2026-05-19 08:00:00', 'placed', 'MAY'),
    (8, 4, '2026-03-15 10:00:00', 'cancelled', 'SPRING'),
    (9, 4, '2026-01-05 10:00:00', 'returned', 'NEWYEAR'),
    (10, 5, '2025-12-24 18:00:00', 'delivered', NULL),
    (11, 7, '2026-05-20 12:00:00', 'placed', NULL),
    (12, 7, '2026-04-10 09:30:00', 'cancelled', NULL),
    (13, 9, '2026-05-20 13:00:00', 'placed', 'MAY'),
    (14, 9, '2026-03-02 07:00:00', 'delivered', 'SPRING'),
    (15, 9, '2026-03-20 07:00:00', 'delivered', NULL),
    (16, 9, '2026-04-02 07:00:00', 'returned', NULL),
    (17, 10, '2026-05-14 16:45:00', 'cancelled', 'MAY'),
    (18, 6, '2026-03-31 12:00:00', 'cancelled', NULL),
    (19, 14, '2026-02-10 10:00:00', 'returned', NULL),
    (20, 15, '2026-05-20 13:00:01', 'placed', NULL);

INSERT INTO items (order_id, product_id, quantity, unit_price) VALUES
    (1, 1, 1, 24.99),
    (1, 2, 4, 9.99),
    (2, 3, 1, 180.00),
    (3, 1, 2, 22.50),
    (4, 4, 1, 15.00),
    (4, 5, 3, 10.00),
    (5, 6, 1, 25.00),
    (6, 1, 1, 24.99),
    (6, 7, 1, 79.00),
    (7, 8, 1, 320.00),
    (8, 1, 1, 24.99),
    (9, 9, 2, 170.00),
    (10, 10, 10, 4.50),
    (10, 2, 2, 9.00),
    (11, 12, 1, 14.99),
    (12, 13, 1, 14.99),
    (13, 1, 1, 24.99),
    (14, 3, 2, 180.00),
    (14, 10, 5, 4.50),
    (15, 6, 1, 24.00),
    (16, 7, 1, 79.00),
    (17, 14, 3, 10.01),
    (18, 9, 1, 180.00),
    (19, 1, 1, 24.99);
